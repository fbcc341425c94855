// Redacts the names and texts of things before they are stored or exported. The event loop gets its turns meanwhile.
import { inTurns, type RedactText } from '../../lib/text-redaction.ts'
import type { Collected } from '../../model/inventory.ts'

export async function cleanCollected(collected: Collected, redactText: RedactText): Promise<Collected> {
  const cleanText = inTurns(redactText)
  const known = new Map<string, string>()
  const clean = async (text: string): Promise<string> => {
    const found = known.get(text) ?? (await cleanText(text))
    known.set(text, found)
    return found
  }
  const cleanAll = async <T>(attributes: Readonly<Record<string, T>>): Promise<Record<string, T>> => {
    const all: [string, T][] = []
    for (const [key, value] of Object.entries(attributes))
      all.push([key, typeof value === 'string' ? ((await clean(value)) as T & string) : value])
    return Object.fromEntries(all)
  }
  const [points, events] = [[...collected.points], [...(collected.events ?? [])]]
  for (const [index, point] of points.entries())
    points[index] = { ...point, attributes: await cleanAll(point.attributes) }
  for (const [index, event] of events.entries())
    events[index] = { ...event, body: await clean(event.body), attributes: await cleanAll(event.attributes) }
  return { ...collected, points, events }
}
