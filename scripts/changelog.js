// What a release does with CHANGELOG.md: changes are collected under `Unreleased`, and get a heading with version and date.

const unreleased = '## Unreleased'

/** What stands under `Unreleased`; empty if there is nothing to release. */
export function unreleasedIn(changelog) {
  const start = changelog.indexOf(unreleased)
  if (start === -1) return ''
  const rest = changelog.slice(start + unreleased.length)
  const end = rest.search(/\n## /)
  return (end === -1 ? rest : rest.slice(0, end)).trim()
}

/** Whether this version has a heading with a date. */
export function isDated(changelog, version) {
  return new RegExp(String.raw`^## ${version.replaceAll('.', String.raw`\.`)} - \d{4}-\d\d-\d\d$`, 'm').test(changelog)
}

/**
 * With the heading of this version, dated (`YYYY-MM-DD`): what stood under `Unreleased` comes below it. An undated heading that is there already gets the
 * date.
 */
export function withHeading(changelog, version, date) {
  if (isDated(changelog, version)) return changelog
  const heading = `## ${version} - ${date}`
  if (changelog.includes(`\n## ${version}\n`)) return changelog.replace(`\n## ${version}\n`, `\n${heading}\n`)
  return changelog.replace(unreleased, `${unreleased}\n\n${heading}`)
}
