// Splits windows of text into lines, wherever the windows are cut. Lines that are too long are skipped.

/** Characters of one line. */
const maxLineLength = 64 * 1024

/** Called with each line, without its end. */
export interface LineReader {
  write(text: string): void
  /** The rest of the text is the last line. */
  end(): void
  /** Lines that were too long. */
  readonly passedOver: number
}

export function createLineReader(onLine: (line: string) => void): LineReader {
  let pending = ''
  let isTooLong = false
  let passedOver = 0
  const finish = (line: string): void => {
    if (isTooLong || line.length > maxLineLength) passedOver += 1
    else onLine(line)
    isTooLong = false
  }
  return {
    get passedOver() {
      return passedOver
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
