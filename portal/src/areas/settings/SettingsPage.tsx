import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Loading } from '../../components/Loading.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { messages } from '../../messages/index.ts';
import { KeysPanel } from './keys/KeysPanel.tsx';
import { isTab, TABS } from './tabs.ts';

const MembersPanel = lazy(() => import('./members/MembersPanel.tsx'));
const WebhooksPanel = lazy(() => import('./webhooks/WebhooksPanel.tsx'));
const OrganisationPanel = lazy(() => import('./OrganisationPanel.tsx'));

const text = messages.settings;

/** What an organisation decides about itself. */
export function SettingsPage() {
  const { tab = 'keys' } = useSearch({ from: '/settings' });
  const navigate = useNavigate();
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      <Tabs
        value={tab}
        onChange={(next) =>
          isTab(next) && void navigate({ to: '/settings', search: { tab: next }, replace: true })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {TABS.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {text.tabs[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Suspense fallback={<Loading />}>
          <Tabs.Panel value="keys">
            <RoleGate needs="admin">
              <KeysPanel />
            </RoleGate>
          </Tabs.Panel>
          <Tabs.Panel value="members">
            <RoleGate needs="admin">
              <MembersPanel />
            </RoleGate>
          </Tabs.Panel>
          <Tabs.Panel value="webhooks">
            <RoleGate needs="admin">
              <WebhooksPanel />
            </RoleGate>
          </Tabs.Panel>
          <Tabs.Panel value="organisation">
            <RoleGate needs="read-only">
              <OrganisationPanel />
            </RoleGate>
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </>
  );
}
