// The colours in a line of a job's log, from its control sequences (ECMA-48, SGR).
import { plain } from './control-sequences.ts'

/** Text in one style. */
export interface Run {
  readonly text: string
  readonly bold?: true | undefined
  /** 0 to 7 as terminals number colours, 8 to 15 their bright variants; undefined: the default. */
  readonly colour?: number | undefined
}

const looks = /\u001b\[([\d;]*)m/

/** `raw`: with its control sequences. All texts together equal `plain(raw)`. Backgrounds, and colours beyond sixteen, are ignored. */
export function runsOf(raw: string): readonly Run[] {
  const whole = plain(raw)
  if (!raw.includes('\u001b')) return [{ text: whole }]
  const runs: Run[] = []
  let look: Pick<Run, 'bold' | 'colour'> = {}
  raw.split(looks).forEach((part, index) => {
    if (index % 2 === 1) look = changed(look, part)
    else if (plain(part) !== '') runs.push({ text: plain(part), ...look })
  })
  return runs.map(({ text }) => text).join('') === whole ? runs : [{ text: whole }]
}

function changed(before: Pick<Run, 'bold' | 'colour'>, sequence: string): Pick<Run, 'bold' | 'colour'> {
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
