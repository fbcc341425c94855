// Replaces the section of a page that is generated from results. The section is between two markers; the rest of the page is left unchanged.

const markers = ['<!-- results: written by `npm run bench -- --record` -->\n', '<!-- end of results -->'] as const

export function withSection(page: string, content: string): string {
  const [from, to] = placeOf(page)
  return `${page.slice(0, from)}${content}${page.slice(to)}`
}

export function sectionOf(page: string): string {
  return page.slice(...placeOf(page))
}

function placeOf(page: string): [number, number] {
  const [from, to] = markers.map(marker => page.indexOf(marker))
  if (from === undefined || to === undefined || from < 0 || to < from)
    throw new Error('the page has no place for results')
  return [from + markers[0].length, to]
}
