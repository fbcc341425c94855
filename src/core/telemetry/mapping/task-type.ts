// Maps the name of a stage to a type of tasks of the conventions.

/** The types that the conventions define, with the words in the names of stages that mean them. */
export const taskTypes: Readonly<Record<string, readonly string[]>> = {
  build: ['build', 'builds', 'compile'],
  test: ['test', 'tests', 'testing'],
  deploy: ['deploy', 'deployment', 'deployments'],
}

/** Undefined if no type applies, or more than one. */
export function taskTypeOf(stage: string | undefined): string | undefined {
  const words = new Set(stage?.toLowerCase().split(/[^a-z]+/))
  const meant = Object.entries(taskTypes).flatMap(([type, own]) => (own.some(word => words.has(word)) ? [type] : []))
  return meant.length === 1 ? meant[0] : undefined
}
