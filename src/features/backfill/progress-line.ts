// One line of progress: redrawn in place on a terminal, a plain line now and then elsewhere.
import type { Terminal } from '../../lib/terminal.ts'

interface ProgressLine {
  /** `share`: 0 to 1, undefined while it is not known. */
  show(share: number | undefined, words: string): void
  /** Leaves the last state standing. */
  end(): void
}

const barWidth = 24
/** Between two redraws, and between two plain lines, ms. */
const redrawEvery = 100
const lineEvery = 10_000

export function createProgressLine({ stderr }: Terminal, now: () => number): ProgressLine {
  const inPlace = stderr.isTTY === true
  let shownAt = -Infinity
  let last: string | undefined
  return {
    show: (share, words) => {
      const percent = share === undefined ? '' : `${Math.floor(share * 100)} % `
      last = inPlace ? `${bar(share)} ${percent}${words}` : `${percent}${words}`
      if (now() - shownAt < (inPlace ? redrawEvery : lineEvery)) return
      shownAt = now()
      stderr.write(inPlace ? `\r\u001b[2K${last}` : `${last}\n`)
      if (!inPlace) last = undefined
    },
    end: () => {
      if (last !== undefined) stderr.write(inPlace ? `\r\u001b[2K${last}\n` : `${last}\n`)
      last = undefined
    },
  }
}

function bar(share: number | undefined): string {
  const full = Math.round((share ?? 0) * barWidth)
  return `[${'#'.repeat(full)}${'·'.repeat(barWidth - full)}]`
}
