// Whether a push may have changed the CI configuration of the default branch ("Push events" of the platform's webhooks).
import { readCount, readObject, readText, readTexts, type WireObject } from '../wire-read.ts'

/**
 * True if it changed the CI file, or another YAML file, which the CI file may include. Also true if the files are not known: the payload has at most
 * twenty commits, and of a large payload they are not read.
 */
export function touchesCi(json: WireObject): boolean {
  const project = readObject(json.project)
  const branch = readText(project?.default_branch)
  if (branch === undefined || readText(json.ref) !== `refs/heads/${branch}`) return false
  const { commits } = json
  const count = readCount(json.total_commits_count) ?? Infinity
  if (!Array.isArray(commits) || commits.length < count) return true
  // Without one it is a YAML file.
  const file = readText(project?.ci_config_path)?.split('@', 1)[0]
  return commits.some(commit => {
    const { added, modified, removed } = readObject(commit) ?? {}
    const files = [added, modified, removed].flatMap(list => readTexts(list) ?? [])
    return files.some(changed => changed === file || /\.ya?ml$/.test(changed))
  })
}
