// The limit of series in delta, where no totals are kept: the series of this process, as an OpenTelemetry SDK counts them.

/** All series remembered together; beyond it all are forgotten, and distinguished again up to their limits. */
const mostRemembered = 200_000

export interface SeriesCap {
  /** False: the metric has as many series as it may have, and this is another one. `most`: where these are fewer than of others. */
  admits(owner: string, metric: string, series: string, most?: number): boolean
}

/** `limit`: series for each metric of each project, the overflow series included. */
export function createSeriesCap(limit: number): SeriesCap {
  const seen = new Map<string, Set<string>>()
  let remembered = 0
  return {
    admits: (owner, metric, series, most = limit) => {
      const name = `${owner}\n${metric}`
      const known = seen.get(name) ?? new Set()
      if (known.has(series)) return true
      if (known.size >= Math.min(limit, most) - 1) return false
      if (remembered >= mostRemembered) {
        seen.clear()
        known.clear()
        remembered = 0
      }
      seen.set(name, known.add(series))
      remembered += 1
      return true
    },
  }
}
