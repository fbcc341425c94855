// The name under which trends count a pipeline. In it, `*` replaces the parts that change from run to run: `Deploy feature/login #1234` on branch
// `feature/login` becomes `Deploy * #*`. Pure.
import { plainText } from '../sql/columns.ts'
import type { PipelineFacts } from '../../../model/observation.ts'

/** The maximum length of the name in UTF-16 units. */
const maxLength = 100

/** Returns the pipeline's name with `*` for the changing parts. It is empty for a pipeline without a name. */
export function foldedName({
  name = '',
  ref,
  commit,
  mergeRequest,
}: Pick<PipelineFacts, 'name' | 'ref' | 'commit' | 'mergeRequest'>): string {
  const title = commit?.message?.split('\n', 1)[0]
  const changing = [title, mergeRequest?.title, mergeRequest?.sourceBranch, ref].filter(one => one !== undefined)
  const folded = changing
    // Short values are not replaced, because a branch named `a` would match in most names.
    .filter(one => one.length > 2)
    .reduce((text, one) => text.replaceAll(one, '*'), name)
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b|\d+/gi, '*')
  return plainText(folded.trim().slice(0, maxLength))
}
