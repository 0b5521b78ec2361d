package store

// Describe returns the collection's options, schema and extent. It takes up to a
// millisecond. While slots move between groups, it counts what readers do not see, too:
// copies that come, and what has not been dropped yet.
func (c *Collection) Describe() (Description, error) {
	d, err := c.Schema()
	if err != nil {
		return d, err
	}
	if err := c.use(); err != nil {
		return Description{}, err
	}
	defer c.using.leave()
	if e, ok := extent(c.set.tree, c.o.Space); ok {
		d.Extent = &e
	}
	return d, nil
}

// Schema is Describe without the extent, which takes most of its time.
func (c *Collection) Schema() (Description, error) {
	if err := c.use(); err != nil {
		return Description{}, err
	}
	defer c.using.leave()
	d := Description{
		Name: c.Name(), CollectionOptions: c.Options(), Features: c.Len(), Created: c.since,
		CreatedRevision: c.created, Revision: max(c.created, c.revision.Load()),
	}
	c.set.schema.describe(&d)
	return d, nil
}
