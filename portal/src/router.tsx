import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { readSearch } from './areas/attacks/attack-search.ts';
import { Loading } from './components/Loading.tsx';
import { Home } from './shell/Home.tsx';
import { NotFound } from './shell/NotFound.tsx';
import { Shell } from './shell/Shell.tsx';
import { serverSearch, tabSearch } from './tabs.ts';

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: Home,
});

/** Each page is a file of its own, loaded when it is visited first. */
const addresses = createRoute({
  getParentRoute: () => rootRoute,
  path: '/addresses',
  component: lazyRouteComponent(
    () => import('./areas/addresses/AddressesPage.tsx'),
    'AddressesPage',
  ),
});

const address = createRoute({
  getParentRoute: () => rootRoute,
  path: '/addresses/$ip',
  validateSearch: tabSearch('/addresses/$ip'),
  component: lazyRouteComponent(() => import('./areas/addresses/AddressPage.tsx'), 'AddressPage'),
});

const groups = createRoute({
  getParentRoute: () => rootRoute,
  path: '/groups',
  component: lazyRouteComponent(() => import('./areas/groups/GroupsPage.tsx'), 'GroupsPage'),
});

/** `new`, or the id of a group. */
const group = createRoute({
  getParentRoute: () => rootRoute,
  path: '/groups/$group',
  component: lazyRouteComponent(() => import('./areas/groups/GroupPage.tsx'), 'GroupPage'),
});

const servers = createRoute({
  getParentRoute: () => rootRoute,
  path: '/servers',
  component: lazyRouteComponent(() => import('./areas/servers/ServersPage.tsx'), 'ServersPage'),
});

/** `egg`: the game that is chosen already. */
const newServer = createRoute({
  getParentRoute: () => rootRoute,
  path: '/servers/new',
  validateSearch: ({ egg }: Readonly<Record<string, unknown>>): { egg?: string } =>
    typeof egg === 'string' ? { egg } : {},
  component: lazyRouteComponent(
    () => import('./areas/servers/make/NewServerPage.tsx'),
    'NewServerPage',
  ),
});

const library = createRoute({
  getParentRoute: () => rootRoute,
  path: '/library',
  component: lazyRouteComponent(() => import('./areas/library/LibraryPage.tsx'), 'LibraryPage'),
});

const account = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./areas/account/AccountPage.tsx'), 'AccountPage'),
});

const operator = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator',
  validateSearch: tabSearch('/operator'),
  component: lazyRouteComponent(() => import('./areas/operator/OperatorPage.tsx'), 'OperatorPage'),
});

const operatorOrganisation = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/$slug',
  component: lazyRouteComponent(
    () => import('./areas/operator/organisations/OrganisationPage.tsx'),
    'OrganisationPage',
  ),
});

const settings = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  validateSearch: tabSearch('/settings'),
  component: lazyRouteComponent(() => import('./areas/settings/SettingsPage.tsx'), 'SettingsPage'),
});

const server = createRoute({
  getParentRoute: () => rootRoute,
  path: '/servers/$uuid',
  validateSearch: serverSearch,
  component: lazyRouteComponent(() => import('./areas/servers/ServerPage.tsx'), 'ServerPage'),
});

const attacks = createRoute({
  getParentRoute: () => rootRoute,
  path: '/attacks',
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import('./areas/attacks/AttacksPage.tsx'), 'AttacksPage'),
});

const attack = createRoute({
  getParentRoute: () => rootRoute,
  path: '/attacks/$attack',
  params: {
    parse: ({ attack: id }) => ({ attack: Number(id) }),
    stringify: ({ attack: id }) => ({ attack: String(id) }),
  },
  component: lazyRouteComponent(() => import('./areas/attacks/AttackPage.tsx'), 'AttackPage'),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    addresses,
    address,
    attacks,
    attack,
    groups,
    group,
    servers,
    newServer,
    server,
    library,
    settings,
    account,
    operator,
    operatorOrganisation,
  ]),
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
