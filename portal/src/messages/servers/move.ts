/** The dialog by which an operator passes a server to another organisation. */
export const moveServerMessages = {
  title: (name: string) => `Pass ${name} to another organisation?`,
  text: 'It keeps its files, settings and ports. Its former people, guests, invitations and keys lose it at once, and it is restarted if it runs.',
  organisation: 'Organisation',
  service: 'Service',
  noService: 'This organisation has no service. Add one first.',
  submit: 'Pass it on',
} as const;
