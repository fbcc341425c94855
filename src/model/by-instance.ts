// A setting that may differ between platforms.

/** The same for all platforms, or by their instance. */
export type ByInstance<T extends object | string> = T | ((instance: string) => T)

export function ofInstance<T extends object | string>(setting: ByInstance<T>, instance: string): T {
  return isFunction(setting) ? setting(instance) : setting
}

function isFunction<T extends object | string>(setting: ByInstance<T>): setting is (instance: string) => T {
  return typeof setting === 'function'
}
