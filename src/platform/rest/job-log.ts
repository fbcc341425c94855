// Reads a job's log window by window.
//
// If the connection breaks, reading continues at the same byte: with a range request or, if the platform does not support range requests, by
// skipping the bytes that were read. The answer to the first range request shows whether the platform supports them, and this is remembered.
import { PlatformError, type JobLogOptions, type JobLogRead } from '../port.ts'
import type { Requester } from './request.ts'
import type { Streamed } from './stream.ts'

export type ReadJobLog = (url: URL, options: JobLogOptions) => Promise<JobLogRead>

/** Maximum number of broken connections after which reading continues. It only continues if bytes have arrived since the last one. */
const maxBreaks = 5

/** The reader rejects with a PlatformError or, if the signal is aborted, with its reason. */
export function createJobLogReader(requester: Pick<Requester, 'stream'>): ReadJobLog {
  let supportsRanges: boolean | undefined
  return async (url, { maxBytes, onWindow, ...call }) => {
    let bytes = 0
    for (let breaks = 0; ; breaks += 1) {
      const before = bytes
      const asksRange = bytes > 0 && supportsRanges !== false
      try {
        return await requester.stream(
          url,
          { ...call, headers: asksRange ? { range: `bytes=${bytes}-` } : {} },
          async (answer): Promise<JobLogRead> => {
            const begins = beginOf(answer)
            if (asksRange) supportsRanges = answer.status === 206
            let at = begins
            for await (const window of answer.body) {
              const fresh = window.subarray(Math.max(0, bytes - at))
              at += window.length
              const wanted = fresh.subarray(0, maxBytes - bytes)
              if (wanted.length > 0) onWindow(wanted)
              bytes += wanted.length
              if (wanted.length < fresh.length) return { bytes, isWhole: false }
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
