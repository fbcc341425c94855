// The long form of the proofs, for who asks for it (CONTRIBUTING.md, "Tests").

export const isFull = process.env.PIPESPAN_TEST_FULL === '1'

/** With how many examples fast-check tries a property: with all of these in the long form, else with every fifth, and a hundred at most. */
export function runs(all: number): { numRuns: number } {
  return { numRuns: isFull ? all : Math.min(100, Math.ceil(all / 5)) }
}
