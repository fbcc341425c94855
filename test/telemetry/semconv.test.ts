// The copied names of the conventions, held against the package they were copied from.
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { describe, expect, it } from 'vitest'
import * as semconv from '../../src/telemetry/mapping/semconv.ts'

describe('the copied names of the conventions', () => {
  const copied = Object.entries(semconv).filter(([name]) => name !== 'schemaUrl')

  it.each(copied)('%s equals the name in the package', (name, value) => {
    expect((incubating as Record<string, unknown>)[name]).toBe(value)
  })
})
