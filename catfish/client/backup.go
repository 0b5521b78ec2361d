package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// Backup makes the server do Server.Backup.
func (c *Client) Backup(ctx context.Context, name string) (b model.BackupInfo, err error) {
	if err := wire.CheckBackupName(name); err != nil {
		return b, err
	}
	ans, err := c.manage(ctx, wire.KindBackup, "make backups", name)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(ans, &b); err != nil {
		return b, fmt.Errorf("%w: backup: %w", model.ErrProtocol, err)
	}
	return b, nil
}
