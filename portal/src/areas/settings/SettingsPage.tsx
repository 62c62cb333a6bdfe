import { lazy } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { TabShell } from '../../components/TabShell.tsx';
import { messages } from '../../messages/index.ts';
import { KeysPanel } from './keys/KeysPanel.tsx';

const MembersPanel = lazy(() => import('./members/MembersPanel.tsx'));
const WebhooksPanel = lazy(() => import('./webhooks/WebhooksPanel.tsx'));
const OrganisationPanel = lazy(() => import('./OrganisationPanel.tsx'));

const text = messages.settings;

/** Settings that an organisation decides about itself. */
export function SettingsPage() {
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      <TabShell
        path="/settings"
        titles={text.tabs}
        panels={{
          keys: (
            <RoleGate needs="admin">
              <KeysPanel />
            </RoleGate>
          ),
          members: (
            <RoleGate needs="admin">
              <MembersPanel />
            </RoleGate>
          ),
          webhooks: (
            <RoleGate needs="admin">
              <WebhooksPanel />
            </RoleGate>
          ),
          organisation: (
            <RoleGate needs="read-only">
              <OrganisationPanel />
            </RoleGate>
          ),
        }}
      />
    </>
  );
}
