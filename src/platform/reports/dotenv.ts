// Reads a job's dotenv report like the platform: lines of `KEY=value`, without quotes and without continued lines. Values are often secrets, so only
// the values of allowed keys are kept.
import { createLineReader } from './lines.ts'
import { faultOf, type ReportFault } from './report-fault.ts'
import { looksLikePlainText, textOf } from './unpack.ts'

export interface ReadDotenv {
  /** The values of allowed keys. */
  readonly values: Readonly<Record<string, string>>
  /** Number of allowed keys that were beyond the limits. */
  readonly dropped: number
  readonly fault?: ReportFault | undefined
}

/** These are well above the platform's own limit, which is 5 KB by default. */
const caps = { packed: 1024 * 1024, unpacked: 1024 * 1024 }
const limits = { keys: 100, texts: 128 * 1024 } as const

const assignment = /^\s*([A-Za-z_]\w{0,254})\s*=(.*)$/

/** `source`: the artifact's bytes. Rejects only with an error of the source itself. */
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
    if (!values.has(key) && (values.size >= limits.keys || texts + value.length > limits.texts)) {
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
