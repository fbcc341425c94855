// A job's dotenv report: `KEY=value` lines, as the platform reads them: no quotes, no continued lines. Values are often secrets, so only those of
// allowed keys are kept.
import { createLineReader } from './lines.ts'
import { faultOf, type ReportFault } from './report-fault.ts'
import { looksLikePlainText, textOf } from './unpack.ts'

export interface ReadDotenv {
  /** Only those of allowed keys. */
  readonly values: Readonly<Record<string, string>>
  /** Allowed keys beyond the limits. */
  readonly dropped: number
  readonly fault?: ReportFault | undefined
}

/** The platform's own limit is 5 KB by default. */
const caps = { packed: 1024 * 1024, unpacked: 1024 * 1024 }
const most = { keys: 100, texts: 128 * 1024 } as const

const assignment = /^\s*([A-Za-z_]\w{0,254})\s*=(.*)$/

/** `source`: the artifact's bytes. Rejects only with what the source itself throws. */
export async function readDotenv(
  source: AsyncIterable<Uint8Array>,
  isAllowed: (key: string) => boolean,
): Promise<ReadDotenv> {
  const values = new Map<string, string>()
  let texts = 0
  let dropped = 0
  const lines = createLineReader(line => {
    const [, key = '', value = ''] = assignment.exec(line) ?? []
    if (key === '' || !isAllowed(key)) return
    if (!values.has(key) && (values.size >= most.keys || texts + value.length > most.texts)) {
      dropped += 1
      return
    }
    texts += value.length
    values.set(key, value.trim())
  })
  const fault = await faultOf(async () => {
    for await (const text of textOf(source, caps, looksLikePlainText)) lines.write(text)
    lines.end()
  })
  return { values: Object.fromEntries(values), dropped, fault }
}
