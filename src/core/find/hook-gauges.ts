// Metrics of the daemon's own webhooks on the platform: their state, and how long their deliveries took according to the platform's records. The
// counts and the reading position are stored in one document, so each delivery is counted once.
import type { GaugePoint, GaugeReading } from '../store/ports/gauge-documents.ts'
import type { Millis } from '../../model/instant.ts'
import type { WatchedHook } from '../store/ports/discovery-documents.ts'

const id = 'platform.webhook.id'
const state = 'platform.webhook.state'

export const hookMetrics = [
  {
    name: 'platform.webhook.state',
    unit: '{hook}',
    number: 'int',
    attributes: [id, state],
    description: "1 for the current state of the daemon's webhook on the platform, 0 for all other states.",
  },
  {
    name: 'platform.webhook.delivery.duration',
    type: 'histogram',
    unit: 's',
    number: 'double',
    attributes: [id],
    description: "How long deliveries of the daemon's webhook took, from the platform's delivery log.",
  },
] as const

const states = ['executable', 'temporarily_disabled', 'disabled'] as const
/** The histogram's bucket bounds in seconds. The highest is the platform's delivery timeout. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Durations = NonNullable<WatchedHook['durations']>

/** Adds the durations of more deliveries to the histogram. `now` becomes the start time of a new histogram. */
export function withDurations(
  known: Durations | undefined,
  seconds: readonly number[],
  now: Millis,
): Durations | undefined {
  if (seconds.length === 0) return known
  const counts = [...(known?.counts ?? new Array<number>(bounds.length + 1).fill(0))]
  for (const one of seconds) {
    const found = bounds.findIndex(bound => one <= bound)
    const at = found === -1 ? bounds.length : found
    counts[at] = (counts[at] ?? 0) + 1
  }
  return { began: known?.began ?? now, counts, sum: seconds.reduce((sum, one) => sum + one, known?.sum ?? 0) }
}

/** Returns the gauge points of a webhook, which are sent until the next round of reading the delivery records. */
export function readingOf(
  { instance, kind, id: hook, state: is, durations }: WatchedHook,
  whose: Pick<GaugeReading, 'project' | 'group'>,
  sent: Pick<GaugeReading, 'profile' | 'at' | 'goodFor'>,
): GaugeReading {
  const own = { [id]: String(hook) }
  const inState = (word: string): GaugePoint => ({
    metric: 'platform.webhook.state',
    attributes: { ...own, [state]: word },
    value: is === word ? 1 : 0,
  })
  const known = is === undefined || states.some(word => word === is) ? states : [...states, is]
  const took: GaugePoint[] =
    durations === undefined
      ? []
      : [{ metric: 'platform.webhook.delivery.duration', attributes: own, value: { ...durations, bounds } }]
  const points = [...(is === undefined ? [] : known.map(inState)), ...took]
  return { instance, kind: 'webhook', of: `${kind} ${hook}`, ...sent, ...whose, points }
}
