// The last readings of the inventory's gauges, without outdated ones.
import { isGood, type GaugeReading } from '../store/ports/gauge-documents.ts'
import type { Repositories } from '../store/ports/repository.ts'

export async function goodReadings(
  readings: Pick<Repositories['gaugeReadings'], 'all' | 'now'>,
): Promise<readonly GaugeReading[]> {
  const [all, now] = await Promise.all([readings.all(), readings.now()])
  return all.filter(one => isGood(one, now))
}
