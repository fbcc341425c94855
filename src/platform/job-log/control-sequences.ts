// Turns a line of a job's log into the text that a terminal shows in the end, without colours.

/** CSI, OSC and two-character sequences, also one that is cut off by the end of the text. */
const sequences = /\u001b(?:\[[0-?]*[ -/]*(?:[@-~]|$)|\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-Z\\^-~]|$)/g
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g

/** Removes control sequences and control characters other than tabs. */
export function plain(text: string): string {
  const visible = text.includes('\u001b') ? text.replace(sequences, '') : text
  return visible.replace(controls, '')
}

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
