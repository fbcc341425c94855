// The log of a simulated job, as a runner writes it, with the runner's sections. Newer runners put a timestamp before each line; of older
// ones only the section markers have times.
import type { SimJob } from './state.ts'

const erase = '\r\u001b[0K'
const bold = (text: string): string => `\u001b[0K\u001b[36;1m${text}\u001b[0;m`

/** A stage of the runner: its share of the job's time, its title, and what it prints. */
interface Stage {
  readonly name: string
  readonly share: number
  readonly title: string
  readonly prints: readonly string[]
}

/** `isStamped`: lines have timestamps. Empty for a job that did not run. */
export function jobLog(job: SimJob, isStamped: boolean): string {
  const { startedAt: start, finishedAt, status, failureReason } = job
  if (start === undefined || job.kind === 'bridge') return ''
  const took = (finishedAt ?? start) - start
  const lines: (readonly [at: number, text: string])[] = [[start, 'Running with runner 18.7.0']]
  let at = start
  let before = ''
  for (const { name, share, title, prints } of stagesOf(job)) {
    lines.push([at, `${before}section_start:${Math.floor(at / 1000)}:${name}${erase}${bold(title)}`])
    const next = at + took * share
    prints.forEach((text, index) => lines.push([at + ((next - at) * (index + 1)) / (prints.length + 1), text]))
    at = next
    before = `section_end:${Math.floor(at / 1000)}:${name}${erase}`
  }
  const isOver = status === 'success' || status === 'failed'
  const last = status === 'success' ? 'Job succeeded' : `ERROR: Job failed: ${failureReason ?? 'exit code 1'}`
  if (isOver) lines.push([at, before], [at, last])
  return lines.map(([time, text]) => `${isStamped ? stampOf(time) : ''}${text}\n`).join('')
}

function stagesOf({ plan, failureReason, status }: SimJob): Stage[] {
  const failed = status === 'failed'
  if (failed && failureReason === 'runner_system_failure') {
    return [{ name: 'prepare_executor', share: 1, title: 'Preparing the "docker" executor', prints: ['no space left'] }]
  }
  const script: Stage = {
    ...{ name: 'step_script', share: 0.7, title: 'Executing "step_script" stage of the job script' },
    prints: [
      `$ make ${plan.name.split(' ')[0] ?? ''} --token=glpat-Not4RealTokenOfAnyone`,
      ...(failed ? ['make: *** [all] Error 1'] : ['done']),
    ],
  }
  const upload: Stage = {
    ...{ name: 'upload_artifacts_on_success', share: 0.05, title: 'Uploading artifacts for successful job' },
    prints: ['Uploading artifacts...'],
  }
  return [
    {
      name: 'prepare_executor',
      share: 0.1,
      title: 'Preparing the "docker" executor',
      prints: ['Using docker image', 'Running on runner-demo-project-1-concurrent-0 via ci-runner-1...'],
    },
    { name: 'get_sources', share: 0.08, title: 'Getting source from Git repository', prints: ['Fetching changes...'] },
    { name: 'restore_cache', share: 0.07, title: 'Restoring cache', prints: ['Successfully extracted cache'] },
    script,
    ...(failed ? [] : [upload]),
  ]
}

/** Such as `2026-01-21T09:47:26.583005Z 00O `. */
function stampOf(at: number): string {
  return `${new Date(at).toISOString().replace('Z', '000Z')} 00O `
}
