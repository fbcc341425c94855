// Finds the part of a line of a job's log that a terminal shows in the end: what follows its last CR.

/** The text after the last CR that is not at the end: a progress bar overwrites its line with such CRs. */
export function afterLastReturn(text: string): string {
  const end = endBeforeReturns(text)
  return end === 0 ? '' : text.slice(text.lastIndexOf('\r', end - 1) + 1, end)
}

/** The index at which the CRs at the end of a text begin. */
export function endBeforeReturns(text: string): number {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === carriageReturn) end -= 1
  return end
}

const carriageReturn = 0x0d
