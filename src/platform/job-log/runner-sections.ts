// The sections that the runner itself marks in a job's log, by their names, as its source has them.

const stages: ReadonlySet<string> = new Set([
  ...['resolve_secrets', 'prepare_executor', 'prepare_script', 'pull_image', 'get_sources', 'clear_worktree'],
  ...['restore_cache', 'download_artifacts', 'step_script', 'build_script', 'after_script', 'archive_cache'],
  ...['archive_cache_on_failure', 'upload_artifacts_on_success', 'upload_artifacts_on_failure'],
  ...['cleanup_file_variables', 'cleanup_script'],
])

/** Whose section it is. The steps of a job may have any name, but nothing is around them. */
export function sectionKindOf(name: string, isWithin: boolean): 'runner' | 'script' | 'custom' {
  if (stages.has(name) || (!isWithin && /^step_[a-z0-9_]{1,64}$/.test(name))) return 'runner'
  return scriptStep.test(name) ? 'script' : 'custom'
}

/** A command of several lines, as the runner marks it: its title is the command. */
const scriptStep = /^section_script_step_\d+$/

/** One that runs the job's script: a job that fails by its script fails in the last of them. */
export function runsScript(name: string): boolean {
  return name.startsWith('step_') || name === 'build_script'
}
