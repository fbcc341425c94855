// Detects a debug trace (`CI_DEBUG_TRACE`) in a job's log. A debug trace shows the job's variables, and the platform masks only exact values of
// masked variables, so such a log must not be exported.

/** Number of characters of the log that are searched. A debug trace shows the variables at its beginning. */
const maxRead = 256 * 1024
/** This many of the platform's variables prove a debug trace. */
const minVariables = 3

const exported = /^\s*(?:\++\s*)?(?:export\s+|declare\s+-x\s+|\$env:|set\s+)?"?CI_[A-Z0-9_]+"?\s*=/
const traced = /^\s*\++\s*(?:export\s+|declare\s+-x\s+)?CI_[A-Z0-9_]+/
const switchedOn = /\bCI_DEBUG_TRACE["']?\s*[:=]\s*["']?(?:true|1|yes)\b/i

/** Makes a function to call with each line in order. It answers true from the line that proves a debug trace on. */
export function createDebugWatch(): (text: string) => boolean {
  let read = 0
  let count = 0
  let isTraced = false
  return text => {
    if (isTraced || read > maxRead) return isTraced
    read += text.length + 1
    if (!text.includes('CI_')) return false
    if (exported.test(text) || traced.test(text)) count += 1
    isTraced = count >= minVariables || switchedOn.test(text)
    return isTraced
  }
}
