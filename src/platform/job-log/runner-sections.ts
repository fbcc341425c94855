// The names of the sections that the runner itself marks in a job's log, from its source code.

const stages: ReadonlySet<string> = new Set([
  ...['resolve_secrets', 'prepare_executor', 'prepare_script', 'pull_image', 'get_sources', 'clear_worktree'],
  ...['restore_cache', 'download_artifacts', 'step_script', 'build_script', 'after_script', 'archive_cache'],
  ...['archive_cache_on_failure', 'upload_artifacts_on_success', 'upload_artifacts_on_failure'],
  ...['cleanup_file_variables', 'cleanup_script'],
])

/** Who made the section. Steps of a job (`step_…`) may have any name, but are never within another section. */
export function sectionKindOf(name: string, isWithin: boolean): 'runner' | 'script' | 'custom' {
  if (stages.has(name) || (!isWithin && /^step_[a-z0-9_]{1,64}$/.test(name))) return 'runner'
  return scriptStep.test(name) ? 'script' : 'custom'
}

/** A command of several lines, marked by the runner; the title is the command. */
const scriptStep = /^section_script_step_\d+$/

/** True for sections that run the job's script: a script failure belongs to the last of them. */
export function runsScript(name: string): boolean {
  return name.startsWith('step_') || name === 'build_script'
}
