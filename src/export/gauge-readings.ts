// The gauges of what was asked of the platform, as they were found last: what is too old to be today's is left out.
import { isGood, type GaugeReading } from '../store/ports/gauge-documents.ts'
import type { Repositories } from '../store/ports/repository.ts'

export async function goodReadings(
  readings: Pick<Repositories['gaugeReadings'], 'all' | 'now'>,
): Promise<readonly GaugeReading[]> {
  const [all, now] = await Promise.all([readings.all(), readings.now()])
  return all.filter(one => isGood(one, now))
}
