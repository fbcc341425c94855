// Prints pipeline.json as if the pipeline had ended a moment ago, and as another one than the last time: `node docs/examples/just-now.js`.
import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('pipeline.json', import.meta.url), 'utf8')
const { object_attributes: pipeline } = JSON.parse(text)
const ended = Date.parse(pipeline.finished_at)
const now = Math.floor(Date.now() / 1000) * 1000

/** Every instant, in the way that it is written in the file. */
const moved = text.replaceAll(/"(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d)( UTC|\+\d\d:\d\d)"/g, (whole, _, separator) => {
  const instant = new Date(Date.parse(whole.slice(1, -1)) + now - ended).toISOString().slice(0, 19)
  return separator === ' ' ? `"${instant.replace('T', ' ')} UTC"` : `"${instant}Z"`
})
const payload = JSON.parse(moved)
const step = now / 1000 - ended / 1000
payload.object_attributes.id += step
payload.object_attributes.url = payload.object_attributes.url.replace(/\d+$/, String(payload.object_attributes.id))
for (const job of payload.builds) job.id += step * 10
process.stdout.write(`${JSON.stringify(payload)}\n`)
