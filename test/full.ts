// Whether the tests run in their long form, which must be requested explicitly (CONTRIBUTING.md, "Tests").

export const isFull = process.env.PIPESPAN_TEST_FULL === '1'

/** Returns the number of examples for which fast-check tests a property: all of them in the long form, otherwise a fifth, but at most a hundred. */
export function runs(all: number): { numRuns: number } {
  return { numRuns: isFull ? all : Math.min(100, Math.ceil(all / 5)) }
}
