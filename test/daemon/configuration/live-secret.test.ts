import { describe, expect, it } from 'vitest'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { LiveSecret } from '../../../src/daemon/configuration/live-secret.ts'
import { folder } from './given.ts'
import { quoted } from '../../../src/daemon/configuration/config-fault.ts'
import { secret } from '../../../src/daemon/configuration/secret-kinds.ts'
import type { Secret } from '../../../src/lib/secret.ts'

interface Given {
  readonly live: LiveSecret<Secret>
  readonly value: () => string | undefined
  readonly news: string[]
  /** The level of each of the `news`. */
  readonly levels: string[]
  /** Moves the clock forward by this many ms. */
  readonly wait: (ms: number) => void
}

function given(file: string): Given {
  let now = 0
  const [news, levels]: [string[], string[]] = [[], []]
  const opened = LiveSecret.fromFile<Secret>({
    path: file,
    kind: secret,
    onNews: (sentence, level) => {
      news.push(sentence)
      levels.push(level)
    },
    clock: { now: () => now, sleep: async () => undefined },
  })
  if ('wrong' in opened) throw new Error(opened.wrong.what)
  const live = opened.value
  return { live, news, levels, value: () => live.current()?.reveal(), wait: ms => (now += ms) }
}

describe('a secret stored in a file', () => {
  it('rereads a secret when its file has changed, checking at most once per second', () => {
    const file = path.join(folder(), 'token')
    writeFileSync(file, 'first\n')
    const { value, wait, news } = given(file)
    writeFileSync(file, 'second\n')
    wait(999)
    expect(value()).toBe('first')
    wait(1)
    expect(value()).toBe('second')
    expect(news).toEqual([`The secret file ${quoted(file)} has changed and was read again.`])
  })

  it('rereads a secret immediately on request', () => {
    const file = path.join(folder(), 'token')
    writeFileSync(file, 'first')
    const { live, value } = given(file)
    writeFileSync(file, 'second')
    expect(live.reload()).toBeUndefined()
    expect(value()).toBe('second')
  })

  it('rereads a secret when a symbolic link is replaced, as Kubernetes does', () => {
    const mount = folder()
    for (const [version, token] of [
      ['..v1', 'first'],
      ['..v2', 'other'],
    ] as const) {
      mkdirSync(path.join(mount, version))
      writeFileSync(path.join(mount, version, 'token'), token)
    }
    symlinkSync('..v1', path.join(mount, '..data'))
    symlinkSync('..data/token', path.join(mount, 'token'))
    const { value, wait } = given(path.join(mount, 'token'))
    symlinkSync('..v2', path.join(mount, '..data_tmp'))
    renameSync(path.join(mount, '..data_tmp'), path.join(mount, '..data'))
    wait(1000)
    expect(value()).toBe('other')
  })

  it('warns that a file cannot be read, and only mentions that it was read again', () => {
    const file = path.join(folder(), 'token')
    writeFileSync(file, 'first')
    const { value, wait, levels } = given(file)
    rmSync(file)
    wait(1000)
    value()
    writeFileSync(file, 'second')
    wait(1000)
    value()
    expect(levels).toEqual(['warn', 'info'])
  })

  it('keeps the last valid secret while its file is missing, and logs that once', () => {
    const file = path.join(folder(), 'token')
    writeFileSync(file, 'first')
    const { value, wait, news } = given(file)
    rmSync(file)
    for (let second = 0; second < 3; second++) {
      wait(1000)
      expect(value()).toBe('first')
    }
    expect(news).toEqual([
      `The secret file ${quoted(file)} cannot be read (ENOENT). The previous value stays in use. ` +
        'Use a file that this process can read.',
    ])
    writeFileSync(file, 'second')
    wait(1000)
    expect(value()).toBe('second')
  })

  it.each(['', '\n', 'hun\u0000ter2', 'x'.repeat(70_000)])(
    'keeps the last valid secret if the new one is invalid',
    bad => {
      const file = path.join(folder(), 'token')
      writeFileSync(file, 'first')
      const { live, value, news } = given(file)
      writeFileSync(file, bad)
      expect(live.reload()).toBeDefined()
      expect(live.reload()).toBeDefined()
      expect(value()).toBe('first')
      expect(news).toHaveLength(1)
      expect(news[0]).not.toContain('ter2')
      writeFileSync(file, 'first')
      expect(live.reload()).toBeUndefined()
      expect(value()).toBe('first')
    },
  )

  it("requires a secret's file to be readable at start-up", () => {
    const missing = path.join(folder(), 'token')
    expect(LiveSecret.fromFile({ path: missing, kind: secret })).toEqual({
      wrong: {
        what: `The secret file ${quoted(missing)} cannot be read (ENOENT).`,
        remedy: 'Use a file that this process can read.',
      },
    })
  })
})
