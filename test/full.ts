// Whether the tests run in their long form, which must be requested explicitly (CONTRIBUTING.md, "Tests").

export const isFull = process.env.PIPESPAN_TEST_FULL === '1'

/**
 * Returns the number of examples with which fast-check tests a property. The long form uses all of them, the short form a fifth, but at most a
 * hundred.
 */
export function runs(all: number): { numRuns: number } {
  return { numRuns: isFull ? all : Math.min(100, Math.ceil(all / 5)) }
}
