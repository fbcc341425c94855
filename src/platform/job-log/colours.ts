// Splits a line of a job's log into texts of one style each, by its control sequences (ECMA-48, SGR).
import { withoutControls } from '../../lib/plain-text.ts'

/** A text in one style. */
export interface Run {
  readonly text: string
  readonly bold?: true | undefined
  /** The terminal's number: 0 to 7 for the colours, 8 to 15 for their bright variants. Undefined: the default colour. */
  readonly colour?: number | undefined
}

const styleSequence = /\u001b\[([\d;]*)m/

/** `raw`: a line with its control sequences. The texts of all runs, joined, equal `withoutControls(raw)`. Backgrounds and colours above 15 are ignored. */
export function runsOf(raw: string): readonly Run[] {
  const whole = withoutControls(raw)
  if (!raw.includes('\u001b')) return [{ text: whole }]
  const runs: Run[] = []
  let style: Style = {}
  raw.split(styleSequence).forEach((part, index) => {
    if (index % 2 === 1) style = changed(style, part)
    else if (withoutControls(part) !== '') runs.push({ text: withoutControls(part), ...style })
  })
  return runs.map(({ text }) => text).join('') === whole ? runs : [{ text: whole }]
}

type Style = Pick<Run, 'bold' | 'colour'>

/** The style after the codes of one sequence. */
function changed(before: Style, sequence: string): Style {
  let { bold, colour } = before
  const codes = sequence.split(';').map(Number)
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0
    if (code === 0) [bold, colour] = [undefined, undefined]
    else if (code === 1) bold = true
    else if (code === 22) bold = undefined
    else if (code >= 30 && code <= 37) colour = code - 30
    else if (code >= 90 && code <= 97) colour = code - 82
    else if (code === 39) colour = undefined
    else if (code === 38 || code === 48) {
      const shade = codes[at + 2] ?? 16
      if (code === 38) colour = codes[at + 1] === 5 && shade < 16 ? shade : undefined
      at += codes[at + 1] === 5 ? 2 : 4
    }
  }
  return { ...(bold && { bold }), ...(colour !== undefined && { colour }) }
}
