// Updates CHANGELOG.md for a release. Changes are collected under `Unreleased`. A release moves them below a heading with the version and the date.

const unreleased = '## Unreleased'

/** Returns the text under `Unreleased`, which is empty if there is nothing to release. */
export function unreleasedIn(changelog) {
  const start = changelog.indexOf(unreleased)
  if (start === -1) return ''
  const rest = changelog.slice(start + unreleased.length)
  const end = rest.search(/\n## /)
  return (end === -1 ? rest : rest.slice(0, end)).trim()
}

/** Whether the heading of this version has a date. */
export function isDated(changelog, version) {
  return new RegExp(String.raw`^## ${version.replaceAll('.', String.raw`\.`)} - \d{4}-\d\d-\d\d$`, 'm').test(changelog)
}

/**
 * Returns the changelog with a dated heading for this version (`YYYY-MM-DD`). The text under `Unreleased` is moved below the heading. If the version
 * already has a heading without a date, that heading gets the date.
 */
export function withHeading(changelog, version, date) {
  if (isDated(changelog, version)) return changelog
  const heading = `## ${version} - ${date}`
  if (changelog.includes(`\n## ${version}\n`)) return changelog.replace(`\n## ${version}\n`, `\n${heading}\n`)
  return changelog.replace(unreleased, `${unreleased}\n\n${heading}`)
}
