// Reads from the head of a job's log where the job ran: the machine, the pod and its node. All lines are the runner's, before any of the job's script.
//
//   Preparing the "docker" executor                                              the executor
//   Waiting for pod ci/runner-1 to be running, status is Pending                 the pod
//   Normal   Scheduled   Successfully assigned ci/runner-1 to node-a             the pod and its node (FF_PRINT_POD_EVENTS)
//   Running on NAME via HOST...                                                  NAME: `hostname` where the script runs; HOST: that of the runner
//
// What NAME and HOST are depends on the executor, so the machine is known only for some (`#machine`).
import { redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import type { RanOn } from '../../model/inside.ts'

const preparing = /^Preparing the "([\w+.-]{1,64})" executor/
const usingExecutor = /^Using (Docker|Kubernetes|Shell|SSH)\b.{0,200}? executor\b/
const waitingForPod = /^Waiting for pod [^\s/]+\/([^\s/]+) to be running, status is /
const assigned = /^Normal\s+Scheduled\s+Successfully assigned [^\s/]+\/([^\s/]+) to (\S+)$/
const runningOn = /^Running on (\S+?)(?: via "?([^\s"]+?)"?)?\.\.\.$/

/** The sections in which the runner has not yet run anything of the job. */
const headSections: ReadonlySet<string> = new Set([
  'resolve_secrets',
  'prepare_executor',
  'prepare_script',
  'pull_image',
])
/** Maximum number of lines of the head. The runner may wait long for a pod, and prints some lines each time. */
const maxHeadLines = 2_000
/** Maximum length of a name, that of DNS. */
const maxName = 253
/** Maximum length of a hostname. A pod with a longer name has a shortened hostname. */
const maxHostname = 63

/** The script runs on the machine whose `hostname` it prints. */
const runsOnMachine: ReadonlySet<string> = new Set(['shell', 'ssh', 'virtualbox', 'parallels', 'instance', 'custom'])
/** The machine is another one than the runner's, and the script prints the name of its container. */
const runsElsewhere: ReadonlySet<string> = new Set(['docker+machine', 'docker-autoscaler', 'kubernetes'])

export class RanOnReader {
  #lines = 0
  #isOver = false
  #executor: string | undefined
  #pod: string | undefined
  #node: string | undefined
  #running: { readonly name: string; readonly via: string | undefined } | undefined

  /** `section`: the name of the innermost section. */
  line(text: string, section: string | undefined): void {
    if (this.#isOver) return
    this.#lines += 1
    if (this.#lines > maxHeadLines || (section !== undefined && !headSections.has(section))) {
      this.#isOver = true
      return
    }
    this.#executor ??= (preparing.exec(text) ?? usingExecutor.exec(text))?.[1]?.toLowerCase()
    const [, pod, node] = assigned.exec(text) ?? waitingForPod.exec(text) ?? []
    if (pod !== undefined) {
      // A pod that replaces another one may be on another node.
      this.#node = node ?? (pod === this.#pod ? this.#node : undefined)
      this.#pod = pod
    }
    const [, name, via] = runningOn.exec(text) ?? []
    if (name === undefined) return
    this.#running = { name, via }
    this.#isOver = true
  }

  /** Ends the log. Names are redacted, then cut. Undefined if nothing is known. */
  finish(redactText: RedactText): RanOn | undefined {
    const isPod = this.#executor === 'kubernetes' || this.#pod !== undefined
    const hostname = this.#running?.name ?? ''
    const found = {
      host: isPod ? undefined : this.#machine(),
      pod: this.#pod ?? (isPod && hostname !== '' && hostname.length < maxHostname ? hostname : undefined),
      node: this.#node,
    }
    const known = Object.entries(found).flatMap(([key, name]) =>
      name === undefined ? [] : [[key, redactedTo(maxName, name, redactText)] as const],
    )
    return known.length === 0 ? undefined : Object.fromEntries(known)
  }

  #machine(): string | undefined {
    if (this.#running === undefined || (this.#executor !== undefined && runsElsewhere.has(this.#executor))) {
      return undefined
    }
    const { name, via } = this.#running
    return this.#executor !== undefined && runsOnMachine.has(this.#executor) ? name : via
  }
}
