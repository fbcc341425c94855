// The limit of series for delta temporality, for which no totals are kept. It counts the series of this process, as an OpenTelemetry SDK does.

/** Limit of all remembered series; beyond it all are forgotten, and each metric begins to count anew. */
const maxRemembered = 200_000

export interface SeriesCap {
  /** False if this would be a series beyond the metric's limit. `most`: a lower limit of this metric. */
  admits(owner: string, metric: string, series: string, most?: number): boolean
  /** False if this would be a value beyond the `max` of a limited attribute. */
  admitsName(owner: string, metric: string, value: string, max: number): boolean
}

/** `limit`: series of each metric of a project, including the overflow series. */
export function createSeriesCap(limit: number): SeriesCap {
  const seen = new Map<string, Set<string>>()
  let remembered = 0
  const fits = (name: string, value: string, max: number): boolean => {
    const known = seen.get(name) ?? new Set()
    if (known.has(value)) return true
    if (known.size >= max) return false
    if (remembered >= maxRemembered) {
      seen.clear()
      known.clear()
      remembered = 0
    }
    seen.set(name, known.add(value))
    remembered += 1
    return true
  }
  return {
    admits: (owner, metric, series, most = limit) => fits(`${owner}\n${metric}`, series, Math.min(limit, most) - 1),
    admitsName: (owner, metric, value, max) => fits(`${owner}\n${metric}\nnames`, value, max),
  }
}
