// The types of runners in words.

/** `instance_type` → `instance runner`: whom the runner serves. */
export function runnerTypeName(type: string): string {
  return `${type.replace(/_type$/, '').replaceAll('_', ' ')} runner`
}
