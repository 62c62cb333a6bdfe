export const shellMessages = {
  product: 'Portcullis',
  cancel: 'Cancel',
  close: 'Close',
  loading: 'Loading',
  copied: 'Copied',
  copyCommand: 'Copy the commands',
  enforce: {
    byOperator: 'The operator of this installation starts enforcement.',
    byCommand: 'To enforce, stop Portcullis on its host, then run there:',
    onHost: 'To enforce, start its edge on its host with: portcullis edge --enforce',
  },
  secret: {
    once: 'This is shown once. Copy it now.',
    copy: 'Copy it',
    saved: 'I have saved it',
  },
  gate: {
    title: 'Your role does not include this',
    operator: 'Only operators of this installation can see this.',
    keyTitle: 'Not available with an API key',
    key: 'Sign out, and sign in with your email and password.',
  },
  signIn: {
    title: 'Sign in',
    lead: 'Firewall, attacks and traffic of your organisation.',
    key: 'API key',
    keyHint: 'It stays in this tab only, and is forgotten when you close it.',
    show: 'Show the key',
    submit: 'Continue',
    email: 'Email',
    password: 'Password',
    showPassword: 'Show the password',
    code: 'Code',
    codeHint: 'Six digits of your authenticator app, or a recovery code.',
    byKey: 'Use an API key instead',
    byPerson: 'Use email and password instead',
    without:
      'No account, or lost your password? Ask your organisation or the operator for a link. For the API, see the',
    withoutKey:
      'No key yet? The operator makes one with “portcullis keys create”. For the API, see the',
    reference: 'reference',
  },
  link: {
    title: (kind: string | undefined, place: string | null) => {
      if (kind === 'operator') return 'Create your account';
      if (kind === 'reset') return 'Choose a new password';
      return place === null ? 'Accept the link' : `Join ${place}`;
    },
    lead: 'This link works once.',
    operatorLead:
      'You will run this installation: its hosts, its organisations and its game servers. The link works once.',
    name: 'Your name',
    newPassword: 'At least 12 characters.',
    ownPassword: 'The one of your account.',
  },
  noOrganisation: {
    title: 'You belong to no organisation',
    text: (email: string) => `Ask an owner or admin of yours to invite ${email}.`,
    operatorTitle: 'Choose an organisation',
    operatorText:
      'You work in it with the rights of an owner. The audit trail records what you do, with your name.',
    organisation: 'Organisation',
    choose: 'Choose one',
    none: 'No organisation has this name',
    act: 'Open the organisation',
  },
  shell: {
    operator: 'Operator',
    library: 'Library',
    organisation: 'Organisation',
    noOrganisation: 'No organisation',
    actingFor: (slug: string) => `Operator in ${slug}`,
    actingBar: (slug: string) =>
      `You work in ${slug} as an operator, with the rights of an owner. What you do is recorded with your name.`,
    stopActing: (slug: string) => `Leave ${slug}`,
    skip: 'Skip to the content',
    navigation: 'Areas',
    openMenu: 'Open the menu',
    closeMenu: 'Close the menu',
    jump: 'Go to…',
    reference: 'API reference',
    keys: 'Keyboard shortcuts',
    light: 'Light theme',
    dark: 'Dark theme',
    signOut: 'Sign out',
    reconnecting: 'Reconnecting…',
    reconnectingHint:
      'The service does not answer: what you see may be out of date. Edges keep enforcing what they have.',
  },
  keys: {
    title: 'Keyboard shortcuts',
    closeLabel: 'Close',
    palette: 'Go to an address, a game server or an area, or run a command',
    search: 'Search on this page',
    go: (area: string) => `Go to ${area}`,
    add: 'Add a rule (on an address)',
    close: 'Close what is open',
    help: 'Show these keys',
  },
  palette: {
    title: 'Go to an address, a game server or a command',
    placeholder: 'An address, a server, an area, a command…',
    none: 'No match. Type part of an address or of a server’s name.',
    address: 'Address',
    open: 'Open this address',
    server: 'Game server',
    area: 'Area',
    command: 'Command',
  },
  errors: {
    title: 'This could not be loaded',
    unreachable: 'The service cannot be reached',
    unreachableHint:
      'It may be restarting, or your connection may be down. Edges keep enforcing what they have. This page tries again by itself.',
    retry: 'Try again',
    marked: 'Nothing was saved. Correct the marked fields.',
    request: (id: string) => `Request ${id}`,
  },
  notFound: {
    title: 'There is no such page',
    text: 'The link may be old or mistyped.',
    back: 'Go to the addresses',
  },
  needsRole: (role: string) =>
    `This needs the role ${role}. Ask an owner or admin of your organisation.`,
  undo: { button: 'Undo', failed: 'Not undone' },
  propagation: { live: 'Live', accepted: 'Accepted', pending: 'Pending', going: 'Going' },
} as const;
