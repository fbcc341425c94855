// Knows the names of the sections that the runner itself marks in a job's log. The names come from the runner's source code.

const stages: ReadonlySet<string> = new Set([
  ...['resolve_secrets', 'prepare_executor', 'prepare_script', 'pull_image', 'get_sources', 'clear_worktree'],
  ...['restore_cache', 'download_artifacts', 'step_script', 'build_script', 'after_script', 'archive_cache'],
  ...['archive_cache_on_failure', 'upload_artifacts_on_success', 'upload_artifacts_on_failure'],
  ...['cleanup_file_variables', 'cleanup_script'],
])

/**
 * Who marked the section: the runner, the runner for a command of the script, or the script. A step of a job (`step_…`) may have any name, but is
 * never within another section.
 */
export function sectionKindOf(name: string, isWithin: boolean): 'runner' | 'script' | 'custom' {
  if (stages.has(name) || (!isWithin && /^step_[a-z0-9_]{1,64}$/.test(name))) return 'runner'
  return scriptStep.test(name) ? 'script' : 'custom'
}

/** The runner marks a command of several lines as a section, whose title is the command. */
const scriptStep = /^section_script_step_\d+$/

/** True for sections that run the job's script. If the script fails, the last of them has failed. */
export function runsScript(name: string): boolean {
  return name.startsWith('step_') || name === 'build_script'
}
