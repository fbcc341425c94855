// Numbers of projects, pipelines and jobs as they stand in addresses.

/** Undefined for what is none. */
export function wholeNumber(text: string): number | undefined {
  const number = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) && number > 0 ? number : undefined
}
