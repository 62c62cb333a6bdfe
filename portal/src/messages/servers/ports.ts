/** The ports of a server, and those that its people add: read when its tab is opened. */
export const serverPortMessages = {
  title: 'Ports of the server',
  lead: (limit: number, count: number) =>
    limit === 0
      ? 'The operator gives this server its ports: people add none.'
      : `${count} of ${limit} ports. One that you add is open in the firewall while the server runs, which has it at its next start.`,
  columns: { port: 'Port', name: 'Name', actions: 'Actions' },
  first: 'First',
  ofOperator: 'From the operator',
  add: 'Add a port',
  addNone: 'The operator allows no more ports for this server.',
  name: 'Name',
  namePlaceholder: 'voice',
  protocols: 'Protocols',
  both: 'TCP and UDP',
  change: 'Name it',
  changeOf: (port: number) => `Name port ${port}`,
  save: 'Save',
  makeFirst: 'Make it the first one',
  makeFirstOf: (port: number) => `Make port ${port} the first one`,
  makeFirstTitle: (port: number) => `Make port ${port} the first one?`,
  makeFirstText: 'Players are shown it, and the game is given it as SERVER_PORT at its next start.',
  isFirst: 'It is the first one.',
  remove: 'Remove',
  removeOf: (port: number) => `Remove port ${port}`,
  removeTitle: (port: number) => `Remove port ${port}?`,
  removeText: 'The firewall closes it at once. Another server may be given it.',
  notYours: 'The operator gave this port, and alone changes it.',
  firstStays: 'Make another port the first one before.',
} as const;
