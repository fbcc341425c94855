// Determines where a job ran from the first lines of its log: the machine, the pod and its node. The runner prints these lines before the job's
// script starts.
//
//   Preparing the "docker" executor                                              the executor
//   Waiting for pod ci/runner-1 to be running, status is Pending                 the pod
//   Normal   Scheduled   Successfully assigned ci/runner-1 to node-a             the pod and its node (FF_PRINT_POD_EVENTS)
//   Running on NAME via HOST...                                                  NAME: `hostname` where the script runs; HOST: the runner's
//
// The meaning of NAME and HOST depends on the executor, so the machine is known only for some executors (`#machine`).
import { redactedTo, type RedactText } from '../../lib/text-redaction.ts'
import type { RanOn } from '../../model/inside.ts'

const preparing = /^Preparing the "([\w+.-]{1,64})" executor/
const usingExecutor = /^Using (Docker|Kubernetes|Shell|SSH)\b.{0,200}? executor\b/
const waitingForPod = /^Waiting for pod [^\s/]+\/([^\s/]+) to be running, status is /
const assigned = /^Normal\s+Scheduled\s+Successfully assigned [^\s/]+\/([^\s/]+) to (\S+)$/
const runningOn = /^Running on (\S+?)(?: via "?([^\s"]+?)"?)?\.\.\.$/

/** The sections during which the runner has not yet executed any part of the job. */
const headSections: ReadonlySet<string> = new Set([
  'resolve_secrets',
  'prepare_executor',
  'prepare_script',
  'pull_image',
])
/** Maximum number of lines that are searched. The runner may wait a long time for a pod, and prints some lines at each check. */
const maxHeadLines = 2_000
/** Maximum length of a machine or node name, which is the DNS limit. */
const maxName = 253
/** Maximum length of a hostname. A pod with a longer name gets a shortened hostname. */
const maxHostname = 63

/** Executors that run the script on the machine whose `hostname` is printed. */
const runsOnMachine: ReadonlySet<string> = new Set(['shell', 'ssh', 'virtualbox', 'parallels', 'instance', 'custom'])
/** Executors that run the script in a container on another machine than the runner's. Their log contains the container's name, not the machine's. */
const runsElsewhere: ReadonlySet<string> = new Set(['docker+machine', 'docker-autoscaler', 'kubernetes'])

export class RanOnReader {
  #lines = 0
  #isOver = false
  #executor: string | undefined
  #pod: string | undefined
  #node: string | undefined
  #running: { readonly name: string; readonly via: string | undefined } | undefined

  /** Reads a line of the log. `section`: the name of the innermost section. */
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
      // If one pod replaces another, it may run on a different node.
      this.#node = node ?? (pod === this.#pod ? this.#node : undefined)
      this.#pod = pod
    }
    const [, name, via] = runningOn.exec(text) ?? []
    if (name === undefined) return
    this.#running = { name, via }
    this.#isOver = true
  }

  /** Called at the end of the log. Returns where the job ran, or undefined if nothing is known. Names are redacted before they are truncated. */
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
