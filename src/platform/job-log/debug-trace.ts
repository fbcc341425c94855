// Whether a job's log shows the variables it ran with, as one of `CI_DEBUG_TRACE` does: then none of its lines may leave, for the platform masks
// no more than the exact values of masked variables.

/** Where it is looked for: a debug trace begins with it. Characters. */
const mostRead = 256 * 1024
/** So many exported variables of the platform are no accident. */
const most = 3

const exported = /^\s*(?:\++\s*)?(?:export\s+|declare\s+-x\s+|\$env:|set\s+)?"?CI_[A-Z0-9_]+"?\s*=/
const traced = /^\s*\++\s*(?:export\s+|declare\s+-x\s+)?CI_[A-Z0-9_]+/
const switchedOn = /\bCI_DEBUG_TRACE["']?\s*[:=]\s*["']?(?:true|1|yes)\b/i

/** To be asked about each line, in their order: true from the line on that proves it. */
export function createDebugWatch(): (text: string) => boolean {
  let read = 0
  let count = 0
  let isTraced = false
  return text => {
    if (isTraced || read > mostRead) return isTraced
    read += text.length + 1
    if (!text.includes('CI_')) return false
    if (exported.test(text) || traced.test(text)) count += 1
    isTraced = count >= most || switchedOn.test(text)
    return isTraced
  }
}
