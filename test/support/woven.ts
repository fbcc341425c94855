// Features of the list that are still woven through the daemon and the commands: they cannot be deleted yet.
export const woven: readonly string[] = ['deployments']
