// Reads a job's log window by window. After a broken connection it continues there: by a range request, or, if the platform does not support these,
// by skipping what was read. The first such request shows which, and this is remembered.
import { PlatformError, type JobLogOptions, type JobLogRead } from '../port.ts'
import type { Requester } from './request.ts'
import type { Streamed } from './stream.ts'

export type ReadJobLog = (url: URL, options: JobLogOptions) => Promise<JobLogRead>

/** How often reading continues after a broken connection, if bytes arrive each time. */
const maxBreaks = 5

/** Rejects with a PlatformError, or with the reason of an aborted signal. */
export function createJobLogReader(requester: Pick<Requester, 'stream'>): ReadJobLog {
  let takesRanges: boolean | undefined
  return async (url, { maxBytes, onWindow, ...call }) => {
    let bytes = 0
    for (let breaks = 0; ; breaks += 1) {
      const before = bytes
      const asksRange = bytes > 0 && takesRanges !== false
      try {
        return await requester.stream(
          url,
          { ...call, headers: asksRange ? { range: `bytes=${bytes}-` } : {} },
          async (answer): Promise<JobLogRead> => {
            const begins = beginOf(answer)
            if (asksRange) takesRanges = answer.status === 206
            let at = begins
            for await (const window of answer.body) {
              const fresh = window.subarray(Math.max(0, bytes - at))
              at += window.length
              const taken = fresh.subarray(0, maxBytes - bytes)
              if (taken.length > 0) onWindow(taken)
              bytes += taken.length
              if (taken.length < fresh.length) return { bytes, isWhole: false }
            }
            return { bytes, isWhole: true }
          },
        )
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        // The range begins at the end of the log: all of it was read.
        if (asksRange && error.status === 416) return { bytes, isWhole: true }
        const isBroken = error.kind === 'network' || error.kind === 'timeout'
        if (!isBroken || bytes === before || breaks >= maxBreaks) throw error
      }
    }
  }
}

/** The offset at which the body begins. */
function beginOf({ status, headers }: Streamed): number {
  if (status !== 206) return 0
  return Number(/^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1] ?? 0)
}
