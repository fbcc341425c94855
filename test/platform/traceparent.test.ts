// Tests which of a pipeline's variables are read, and which invalid values are rejected.
import { describe, expect, it } from 'vitest'
import { readVariables, readVariablesAlone } from '../../src/platform/wanted-facts.ts'
import { validTraceparent } from '../../src/model/trace-context.ts'

const good = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('the traceparent of a pipeline', () => {
  it('accepts a traceparent of version 00 with nonzero ids', () => {
    expect(validTraceparent(good)).toBe(good)
    expect(validTraceparent(` ${good}\n`)).toBe(good)
  })

  const ids = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'

  it.each([
    [`01-${ids}-01`, `00-${ids}-01`],
    [`fe-${ids}-00`, `00-${ids}-00`],
    [`cc-${ids}-01-what-the-future-will-be-like`, `00-${ids}-01`],
    [`01-${ids}-01-`, `00-${ids}-01`],
    // In a traceparent of a higher version, only the sampled bit of the flags is known.
    [`01-${ids}-fe`, `00-${ids}-00`],
    [`01-${ids}-ff-x`, `00-${ids}-01`],
  ])('reads a traceparent of a higher version, %s, like version 00: %s', (text, read) => {
    expect(validTraceparent(text)).toBe(read)
    expect(validTraceparent(read)).toBe(read)
  })

  it.each([
    '',
    '00',
    `01-${ids}-01.what`,
    `01-${ids}-011`,
    `01-${ids}-01\u2028-x`,
    `01-${ids}-0`,
    `1-${ids}-01`,
    '01-00000000000000000000000000000000-b7ad6b7169203331-01',
    '01-0af7651916cd43dd8448eb211c80319c-0000000000000000-01-x',
    `ff-${ids}-01-x`,
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01',
    `${good}-extra`,
  ])('rejects an invalid traceparent: %o', text => {
    expect(validTraceparent(text)).toBeUndefined()
  })
})

describe('the variables of a pipeline event', () => {
  it.each([
    [
      [
        { key: 'OTHER', value: 'x' },
        { key: 'TRACEPARENT', value: good },
      ],
      good,
    ],
    [[null, 7, { key: 'TRACEPARENT', value: good }], good],
    [[{ key: 'traceparent', value: good }], undefined],
    [[{ key: 'TRACEPARENT', value: 'not one' }], undefined],
    [[{ key: 'TRACEPARENT', value: 7 }], undefined],
    [{ TRACEPARENT: good }, undefined],
    [undefined, undefined],
  ])('reads from the variables %j the traceparent %s', (variables, reported) => {
    expect(readVariables(variables)?.traceparent).toBe(reported)
  })

  it.each([
    [[{ key: 'CI_DEBUG_TRACE', value: 'true' }], true],
    [[null, 7, { key: 'OTHER', value: 'true' }, { key: 'CI_DEBUG_TRACE', value: ' True\n' }], true],
    [[{ key: 'CI_DEBUG_TRACE', value: true }], true],
    [[{ key: 'CI_DEBUG_TRACE', value: 'false' }], false],
    [[{ key: 'CI_DEBUG_TRACE', value: {} }], false],
    [[{ key: 'ci_debug_trace', value: 'true' }], false],
    [[{ key: 'CI_DEBUG_TRACE', value: { toString: 1 } }], false],
    [{ CI_DEBUG_TRACE: 'true' }, false],
    [undefined, false],
  ])('reads from the variables %j whether they enable a debug trace: %s', (variables, isOn) => {
    expect(readVariables(variables)?.isDebugTraced ?? false).toBe(isOn)
  })

  it.each([null, 7, 'text', [], {}])(
    'reads neither a traceparent nor a debug trace if the variables are %j',
    variables => {
      const { traceparent, isDebugTraced = false } = readVariables(variables) ?? {}
      expect([traceparent, isDebugTraced]).toEqual([undefined, false])
    },
  )

  it("stores only a pipeline's traceparent, its debug trace flag and the variables on the allow list", () => {
    const stored = (names?: ReadonlySet<string>): unknown =>
      JSON.parse(
        JSON.stringify(
          {
            variables: [
              { key: 'TEAM', value: 'payments' },
              { key: 'KEY', value: 'planted' },
              { key: 'TRACEPARENT', value: good },
            ],
          },
          readVariablesAlone(names),
        ),
      )
    const traceparent = { key: 'TRACEPARENT', value: good }
    expect(stored()).toEqual({ variables: [traceparent] })
    const names = new Set(['TEAM', 'TRACEPARENT', 'ABSENT'])
    expect(stored(names)).toEqual({ variables: [traceparent, { key: 'TEAM', value: 'payments' }] })
  })
})
