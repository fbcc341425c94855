// Divides windows of text, which may be cut anywhere, into lines. Lines that are too long are skipped.

/** Maximum number of characters in a line. */
const maxLineLength = 64 * 1024

/** Passes on each line without its end. */
export interface LineReader {
  write(text: string): void
  /** Ends the text. The rest is the last line. */
  end(): void
  /** Number of lines that were skipped because they were too long. */
  readonly skipped: number
}

export function createLineReader(onLine: (line: string) => void): LineReader {
  let pending = ''
  let isTooLong = false
  let skipped = 0
  const finish = (line: string): void => {
    if (isTooLong || line.length > maxLineLength) skipped += 1
    else onLine(line)
    isTooLong = false
  }
  return {
    get skipped() {
      return skipped
    },
    write: text => {
      let from = 0
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        finish(pending + text.slice(from, at).replace(/\r$/, ''))
        pending = ''
        from = at + 1
      }
      pending += text.slice(from)
      if (pending.length <= maxLineLength) return
      pending = ''
      isTooLong = true
    },
    end: () => {
      if (pending !== '' || isTooLong) finish(pending.replace(/\r$/, ''))
      pending = ''
    },
  }
}
