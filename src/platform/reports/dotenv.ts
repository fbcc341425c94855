// Reads a job's dotenv report like the platform: lines of `KEY=value`, without quotes and without continued lines. Values are often secrets, so only
// the values of allowed keys are kept.
import { createLineReader } from './lines.ts'
import { faultOf } from './report-fault.ts'
import { looksLikePlainText, textOf } from './unpack.ts'
import { redactedValue, type RedactText } from '../../lib/text-redaction.ts'
import type { ReportRead } from '../port/inside.ts'

/** These are well above the platform's own limit, which is 5 KB by default. */
const caps = { packed: 1024 * 1024, unpacked: 1024 * 1024 }
const limits = { keys: 100, texts: 128 * 1024 } as const

const assignment = /^\s*([A-Za-z_]\w{0,254})\s*=(.*)$/

/** `source`: the artifact's bytes. `dropped` counts allowed keys beyond the limits. Rejects only with an error of the source itself. */
export async function readDotenv(
  source: AsyncIterable<Uint8Array>,
  isAllowed: (key: string) => boolean,
  redactText: RedactText,
): Promise<ReportRead> {
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
  const clean = [...values].flatMap(([key, value]) =>
    redactText(key) === key ? [[key, redactedValue(key, value, redactText)] as const] : [],
  )
  return { report: clean.length === 0 ? undefined : { dotenv: Object.fromEntries(clean) }, dropped, fault }
}
