// Detects a debug trace (`CI_DEBUG_TRACE`) in a job's log, which shows the job's variables. Such a log must not be exported, because the platform
// masks only exact values of masked variables.

/** Only this part of the log is searched, as a debug trace begins with variables, in characters. */
const maxRead = 256 * 1024
/** This many exported variables of the platform prove a debug trace. */
const most = 3

const exported = /^\s*(?:\++\s*)?(?:export\s+|declare\s+-x\s+|\$env:|set\s+)?"?CI_[A-Z0-9_]+"?\s*=/
const traced = /^\s*\++\s*(?:export\s+|declare\s+-x\s+)?CI_[A-Z0-9_]+/
const switchedOn = /\bCI_DEBUG_TRACE["']?\s*[:=]\s*["']?(?:true|1|yes)\b/i

/** Called with each line in order; true from the line on that proves a debug trace. */
export function createDebugWatch(): (text: string) => boolean {
  let read = 0
  let count = 0
  let isTraced = false
  return text => {
    if (isTraced || read > maxRead) return isTraced
    read += text.length + 1
    if (!text.includes('CI_')) return false
    if (exported.test(text) || traced.test(text)) count += 1
    isTraced = count >= most || switchedOn.test(text)
    return isTraced
  }
}
